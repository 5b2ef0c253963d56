/**
 * The real server, which kills itself at the commit named by a variable: `PARLEY_TEST_CRASH=before:3` or `after:3`, or
 * `after:Condensation` for the first commit with an event of that kind, or `after:delete` for the first deletion.
 */
import { parseArgs } from 'node:util'
import { readConfig, startServer } from '../src/index.ts'
import type { Storage } from '../src/storage/index.ts'

// Not awaited at the top level: the parts that a bundle loads later would wait for this file, and this file for them.
void serve()

async function serve(): Promise<void> {
  const { values } = parseArgs({
    allowPositionals: true,
    options: { port: { type: 'string' }, 'data-dir': { type: 'string' } },
  })
  const { env } = process
  const { config } = readConfig({ flags: values, env, cwd: process.cwd(), home: env['HOME'] ?? '/' })
  const server = await startServer(config, { wrapStorage: crashAt(env['PARLEY_TEST_CRASH']) })
  console.log(`parley is listening on ${server.url}`)
  process.once('SIGTERM', () => void server[Symbol.asyncDispose]().then(() => process.exit(0)))
}

function crashAt(point: string | undefined): (storage: Storage) => Storage {
  if (point === undefined) return (storage) => storage
  const [when, at] = point.split(':') as ['before' | 'after', string]
  let commits = 0
  return (storage) => {
    const { conversations } = storage
    const append: typeof conversations.append = async (change) => {
      if (change.events.length > 0) commits += 1
      const isPoint = commits === Number(at) || change.events.some(({ event }) => event.kind === at)
      if (when === 'before' && isPoint) process.kill(process.pid, 'SIGKILL')
      await conversations.append(change)
      if (when === 'after' && isPoint) process.kill(process.pid, 'SIGKILL')
    }
    const remove: typeof conversations.delete = async (...removed) => {
      const isDeleted = await conversations.delete(...removed)
      if (at === 'delete') process.kill(process.pid, 'SIGKILL')
      return isDeleted
    }
    const replaced: Record<string | symbol, unknown> = { append, delete: remove }
    const crashing = new Proxy(conversations, { get: (target, name) => replaced[name] ?? bound(target, name) })
    return new Proxy(storage, { get: (target, name) => (name === 'conversations' ? crashing : bound(target, name)) })
  }
}

function bound(target: object, name: string | symbol): unknown {
  const member = Reflect.get(target, name) as unknown
  return typeof member === 'function' ? member.bind(target) : member
}
