"""What calls and processes cost on the host, beside torch and Triton."""
