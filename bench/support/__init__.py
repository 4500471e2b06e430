"""What every measurement needs: a real stack in a folder of its own, and a report."""
