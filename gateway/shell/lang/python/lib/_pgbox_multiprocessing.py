raise ImportError("this Python has no multiprocessing: subprocess runs programs, concurrent.futures.ThreadPoolExecutor runs tasks one at a time")
