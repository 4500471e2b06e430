"""The one door for people and programs: who they are, and what they reach over HTTP."""
