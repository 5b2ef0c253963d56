/** Many requests, a bounded number at a time, over connections that stay open. */
import { Agent, request } from 'node:http'
import { TEST_KEY } from '../../../packages/server/testing/server-process.ts'
import type { Sent } from './bodies.ts'

/** Requests in progress at the same time. */
const AT_ONCE = 12
/** A slower answer counts as missing. */
const DEADLINE_MS = 20_000

export type Shot = Sent & { method: string; path: string }
export type Hit = { status: number; text: string }

export type Budget = {
  /** No new request is sent after this time. */
  seconds: number
  /** Least number of requests, whatever the time. */
  least: number
}

/** Sends requests made by `make` and passes every answer to `seen`; returns their number. Rejects at the first request without an answer. */
export async function flood(
  url: string,
  { seconds, least }: Budget,
  make: (n: number) => Shot,
  seen: (hit: Hit, shot: Shot) => void,
): Promise<number> {
  const endsAt = performance.now() + seconds * 1000
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  const { hostname, port } = new URL(url)
  let sent = 0
  const one = (shot: Shot): Promise<Hit> => {
    const { method, path, body, headers, isChunked } = shot
    const { promise, resolve, reject } = Promise.withResolvers<Hit>()
    const length = isChunked ? {} : { 'content-length': String(body.length) }
    const call = request({
      hostname,
      port,
      method,
      path,
      agent,
      headers: { ...headers, ...length, 'x-session-api-key': TEST_KEY },
    })
    const late = setTimeout(() => call.destroy(new Error('no answer')), DEADLINE_MS)
    call.on('response', (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () => {
        clearTimeout(late)
        resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() })
      })
    })
    call.on('error', (cause) => {
      clearTimeout(late)
      reject(
        new Error(`${method} ${path} ${JSON.stringify(body.toString().slice(0, 500))}: ${cause.message}`, { cause }),
      )
    })
    call.end(body)
    return promise
  }
  const worker = async () => {
    while (sent < least || performance.now() < endsAt) {
      const shot = make(sent++)
      seen(await one(shot), shot)
    }
  }
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
    return sent
  } finally {
    agent.destroy()
  }
}
