"""Creates the report of benchmark runs: one HTML file from the JSON lines of `spry bench`."""
