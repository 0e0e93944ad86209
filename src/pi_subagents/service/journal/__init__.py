"""What is read of the journals of runs for those who look at them."""
