"""Serves a model with llama.cpp's server. Arguments: the model's file, its name, the port."""
import sys
import threading

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.model_alias = {sys.argv[2]}
params.hostnames = ["127.0.0.1"]
params.port = int(sys.argv[3])
params.n_ctx = 8192
params.n_parallel = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
threading.Event().wait()
