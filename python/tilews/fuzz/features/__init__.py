"""Features of random kernels that have a stream of random numbers of their own."""
