"""Spry's CUDA plug-in. The package spry loads libspry-cuda.so from this folder."""
