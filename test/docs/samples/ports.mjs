/** Programs connect to the ports that pages name, and listen there: they get free ones instead. */
import { Server, Socket } from 'node:net'

const ports = JSON.parse(process.env.PORTS)
const { connect } = Socket.prototype
const { listen } = Server.prototype

Socket.prototype.connect = function (...args) {
  const [options] = Array.isArray(args[0]) ? args[0] : args
  const port = ports[`${options.host}:${options.port}`] ?? ports[options.port]
  if (port !== undefined) Object.assign(options, { host: '127.0.0.1', port })
  return connect.apply(this, args)
}

Server.prototype.listen = function (port, ...args) {
  return listen.call(this, ports[port] ?? port, ...args)
}
