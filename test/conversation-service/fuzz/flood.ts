/** Many requests, a bounded number at a time, over connections that stay open. */
import { Agent, request } from 'node:http'
import { TEST_KEY } from '../../../packages/server/testing/server-process.ts'
import type { Sent } from './bodies.ts'

/** Requests in progress at the same time. */
const AT_ONCE = 12
/** An answer counts as missing when this time has passed, and this many later requests have been answered. */
const OVERTAKEN = { ms: 20_000, answers: 1000 }
/** A server that answers nothing for this time has stopped. A loaded machine can stand still for a while. */
const SILENCE_MS = 120_000

export type Shot = Sent & { method: string; path: string }
export type Hit = { status: number; text: string }

export type Budget = {
  /** No new request is sent after this time. */
  seconds: number
  /** Least number of requests, whatever the time. */
  least: number
}

export type Flood = {
  /** Number of requests. */
  sent: number
  /** Longest time in which no answer arrived. */
  longestSilenceMs: number
}

/** Sends requests made by `make` and passes every answer to `seen`. Rejects at the first request without an answer. */
export async function flood(
  url: string,
  { seconds, least }: Budget,
  make: (n: number) => Shot,
  seen: (hit: Hit, shot: Shot) => void,
): Promise<Flood> {
  const from = performance.now()
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  const { hostname, port } = new URL(url)
  let sent = 0
  let answered = 0
  let lastAnswerAt = from
  let longestSilenceMs = 0
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
    const sentAt = performance.now()
    const answeredBefore = answered
    const watch = setInterval(() => {
      const now = performance.now()
      const overtaking = answered - answeredBefore
      const isOvertaken = now - sentAt > OVERTAKEN.ms && overtaking > OVERTAKEN.answers
      if (!isOvertaken && now - Math.max(lastAnswerAt, sentAt) < SILENCE_MS) return
      const { bytesRead, bytesWritten } = call.socket ?? { bytesRead: 0, bytesWritten: 0 }
      const waited = Math.round(now - sentAt)
      call.destroy(
        new Error(
          `no answer after ${waited} ms and ${overtaking} other answers; the connection wrote ${bytesWritten} and read ${bytesRead} bytes`,
        ),
      )
    }, 1000)
    call.on('response', (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () => {
        clearInterval(watch)
        const now = performance.now()
        longestSilenceMs = Math.max(longestSilenceMs, now - lastAnswerAt)
        lastAnswerAt = now
        answered += 1
        resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() })
      })
    })
    call.on('error', (cause) => {
      clearInterval(watch)
      reject(
        new Error(`${method} ${path} ${JSON.stringify(body.toString().slice(0, 500))}: ${cause.message}`, { cause }),
      )
    })
    call.end(body)
    return promise
  }
  const worker = async () => {
    while (sent < least || performance.now() - from < seconds * 1000) {
      const shot = make(sent++)
      seen(await one(shot), shot)
    }
  }
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
    return { sent, longestSilenceMs: Math.round(longestSilenceMs) }
  } finally {
    agent.destroy()
  }
}
