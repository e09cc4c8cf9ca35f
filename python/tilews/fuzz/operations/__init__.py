"""Operations on fragments in random kernels: on values, and into memory."""
