"""A server that speaks like S3, on the port that is named first.

moto answers requests side by side, and looks whether an object is there some time before it writes it. S3 promises that of
two writers who both ask for an object that is not there yet one fails, so here requests come one after the other.
"""

import sys
from threading import Lock

from moto.server import DomainDispatcherApplication, create_backend_app
from moto.moto_server.werkzeug_app import MotoRequestHandler
from werkzeug.serving import run_simple

application = DomainDispatcherApplication(create_backend_app)
application.debug = True
turn = Lock()


def one_by_one(environment, start_response):
    """Answers when all requests before have been answered."""
    with turn:
        return application(environment, start_response)


run_simple("127.0.0.1", int(sys.argv[1]), one_by_one, threaded=True, request_handler=MotoRequestHandler)
