"""Spry's CUDA plug-in, libspry-cuda.so, which the package spry finds beside this file."""
