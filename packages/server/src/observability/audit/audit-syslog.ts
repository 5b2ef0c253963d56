/** Copies audit records to a syslog server. Source: RFC 5424, RFC 5426 (UDP) and RFC 6587 (TCP). */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { hostname } from 'node:os'
import type { Log } from '../log.ts'
import { SinkQueue, type AuditSink } from './sink-queue.ts'

export type SyslogAddress = { protocol: 'udp' | 'tcp'; host: string; port: number }

/** Facility `authpriv`, with the severities `info` and `warning`. */
const FACILITY = 10 * 8
const [INFO, WARNING] = [6, 4]
/** Milliseconds for a connection, and for one delivery. */
const LIMIT_MS = 10_000

export function openAuditSyslog(address: SyslogAddress, log: Log): AuditSink {
  const name = `${address.protocol}://${address.host}:${address.port}`
  return new SinkQueue(name, address.protocol === 'udp' ? overUdp(address) : overTcp(address), log)
}

/** A datagram that gets lost on the way is not noticed. */
const overUdp =
  ({ host, port }: SyslogAddress) =>
  async (records: readonly object[]): Promise<void> => {
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
    try {
      for (const record of records) {
        const sent = Promise.withResolvers<void>()
        socket.send(messageOf(record), port, host, (error) => (error === null ? sent.resolve() : sent.reject(error)))
        await sent.promise
      }
    } finally {
      socket.close()
    }
  }

/** One connection for each delivery: what it has taken is known to have arrived at the other end when it closes. */
const overTcp =
  ({ host, port }: SyslogAddress) =>
  async (records: readonly object[]): Promise<void> => {
    const signal = AbortSignal.timeout(LIMIT_MS)
    const socket: Socket = connect({ host, port })
    // A failure rejects what is awaited; another one may follow.
    socket.on('error', () => undefined)
    try {
      await once(socket, 'connect', { signal })
      // Answers are not expected, but must be read for the end of the connection to be seen.
      socket.resume()
      const frames = records.map((record) => {
        const message = messageOf(record)
        return Buffer.concat([Buffer.from(`${message.length} `), message])
      })
      const closed = once(socket, 'close', { signal })
      socket.end(Buffer.concat(frames))
      await closed
      if (socket.errored !== null) throw socket.errored
    } finally {
      socket.destroy()
    }
  }

/** The record as JSON, with the time of the request. */
function messageOf(record: object): Buffer {
  const { at, status } = record as { at?: string; status?: number }
  const priority = FACILITY + (status !== undefined && status >= 400 ? WARNING : INFO)
  const time = at ?? new Date().toISOString()
  const host =
    hostname()
      .replaceAll(/[^\x21-\x7e]/g, '_')
      .slice(0, 255) || '-'
  return Buffer.from(`<${priority}>1 ${time} ${host} parley ${process.pid} AUDIT - ${JSON.stringify(record)}`)
}
