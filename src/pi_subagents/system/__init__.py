"""What the operating system gives: files, processes, threads.  Knows nothing of runs."""
