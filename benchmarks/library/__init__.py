"""The operations of tilews.kernels: checked and measured on a GPU."""
