"""`manage.py up`, which `make run` calls: everything a start needs, then web servers and one worker.

`prepare` checks and makes what is missing, `processes` starts server and worker, keeps them alive and ends them
together, `leash` is the end of the rope in each of them, `server` is waitress, `forking` makes several servers of one,
`listing` says in lines what is open.
"""
