"""Recordings of streams (DVR): artifacts of their own."""
