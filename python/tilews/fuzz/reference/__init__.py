"""The language of random kernels in numpy, a second opinion on what they compute."""
