"""The places that hold pages."""
