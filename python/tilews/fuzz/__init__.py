"""Random kernels that test every pass, the verifier and the simulator."""
