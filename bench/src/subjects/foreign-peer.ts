/**
 * A client of another language, whose program must have been built: `foreign-peer.js NAME ADDRESS
 * LOOPS free|hot PROCESSES`.
 */
import { PEERS } from '../foreign/peers.js'
import { runPeer } from '../foreign/run-peer.js'

const [name = '', address = '', loops = '1', kind = 'free', processes = '1'] = process.argv.slice(2)
const peer = PEERS.find((one) => one.name === name)
if (peer === undefined) throw new Error(`There is no client ${name}.`)
const pairs = await runPeer(name, peer.language, address, {
  loops: Number(loops),
  processes: Number(processes),
  kind: kind as 'free' | 'hot',
})
console.log(JSON.stringify({ pairs }))
