/** What a sandbox with a list of hosts is given: a proxy's socket, and a program inside that lets others reach it by a port. */
import { createHash } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import type { Server } from 'node:http'
import { join } from 'node:path'
import { openProxy } from './proxy.ts'

/** Inside, everything of it lies in the fresh /run/parley. */
const NODE = '/run/parley/node'
const SCRIPT = '/run/parley/way-out.cjs'
const SOCKET = '/run/parley/way-out.sock'
/** Of the sandbox's own loopback, where nothing else listens. */
const PORT = 3128

/**
 * Listens on the port, starts the program that is named behind, and ends as it ends. The terminal's signals are the program's;
 * what is sent to this process alone is passed on.
 */
const PROGRAM = `'use strict'
const net = require('net')
const { spawn } = require('child_process')
const [path, port, name, ...args] = process.argv.slice(2)
const server = net.createServer({ allowHalfOpen: true }, (inside) => {
  const outside = net.connect({ path, allowHalfOpen: true })
  const end = () => { inside.destroy(); outside.destroy() }
  inside.on('error', end).pipe(outside)
  outside.on('error', end).pipe(inside)
})
server.on('error', (error) => { console.error(error.message); process.exit(126) })
server.listen(Number(port), '127.0.0.1', () => {
  const child = spawn(name, args, { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGTSTP', 'SIGTTOU', 'SIGTTIN']) process.on(signal, () => undefined)
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => { console.error(error.message); process.exit(error.code === 'ENOENT' ? 127 : 126) })
  child.on('exit', (code, signal) => process.exit(signal === null ? code : 128 + require('os').constants.signals[signal]))
})
`

export type WayOut = {
  /** Pairs of a file here and its place inside. */
  mounts: readonly (readonly [from: string, to: string])[]
  /** Goes before the program and its arguments. */
  argv: readonly string[]
  env: Readonly<Record<string, string>>
}

/** One proxy per list of hosts, opened when first asked for and kept until the runner ends. */
export class WaysOut {
  readonly #home: string
  readonly #sockets: string
  readonly #open = new Map<string, Promise<Server>>()

  /** @param home the runner's folder, @param sockets a folder whose path is short enough for addresses */
  constructor(home: string, sockets: string) {
    this.#home = home
    this.#sockets = sockets
  }

  /** @throws the system's error when the proxy cannot listen. */
  async to(hosts: readonly string[]): Promise<WayOut> {
    const name = createHash('sha256').update(JSON.stringify(hosts)).digest('hex').slice(0, 8)
    const socket = join(this.#sockets, `w${name}.sock`)
    const script = join(this.#home, 'way-out.cjs')
    let proxy = this.#open.get(name)
    if (proxy === undefined) {
      // An earlier runner's: only one lives at a time.
      rmSync(socket, { force: true })
      writeFileSync(script, PROGRAM, { mode: 0o600 })
      proxy = openProxy(socket, hosts)
      this.#open.set(name, proxy)
    }
    await proxy.catch((error: unknown) => {
      this.#open.delete(name)
      throw error
    })
    return {
      mounts: [
        [process.execPath, NODE],
        [script, SCRIPT],
        [socket, SOCKET],
      ],
      argv: [NODE, SCRIPT, SOCKET, String(PORT)],
      env: proxyVariables(`http://127.0.0.1:${PORT}`),
    }
  }
}

/** Under all the names by which programs look for a proxy. */
function proxyVariables(url: string): Record<string, string> {
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].flatMap((name) => [name, name.toLowerCase()])
  return {
    ...Object.fromEntries(names.map((name) => [name, url])),
    NO_PROXY: '',
    no_proxy: '',
    NODE_USE_ENV_PROXY: '1',
  }
}
