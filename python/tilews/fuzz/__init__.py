"""Random kernels that every pass and the simulator are tried on."""
