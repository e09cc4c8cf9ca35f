"""How compile times grow with the size of a kernel."""
