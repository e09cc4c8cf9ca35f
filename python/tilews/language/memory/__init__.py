"""What kernels do with memory: buffers, regions, accesses, gathers, atomics."""
