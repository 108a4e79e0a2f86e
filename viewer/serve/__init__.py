"""`manage.py up`, which `make run` calls: all preparations, then a web server and a worker.

`prepare` checks and creates what is missing, `supervisor` starts server and worker, restarts them and ends them
together, `parent` tells them about that end, `server` is waitress with its options, `listing` prints what is open.
"""
