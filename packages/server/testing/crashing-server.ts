/**
 * The real server, which kills itself at the commit named by a variable: `PARLEY_TEST_CRASH=before:3` or `after:3`, or
 * `after:Condensation` for the first commit with an event of that kind, `after:delete` for the first deletion, or `after:bash:word`
 * for the first command outside conversations that contains the word.
 * `PARLEY_TEST_HEARTBEAT_MS` replaces the time between signs of life of the runner.
 */
import { parseArgs } from 'node:util'
import { endOnCrash, readConfig, startServer } from '../src/index.ts'
import type { Storage } from '../src/storage/index.ts'

// Not awaited at the top level: the parts that a bundle loads later would wait for this file, and this file for them.
void serve()

async function serve(): Promise<void> {
  endOnCrash()
  const { values } = parseArgs({
    allowPositionals: true,
    options: { port: { type: 'string' }, 'data-dir': { type: 'string' } },
  })
  const { env } = process
  const { config } = readConfig({ flags: values, env, cwd: process.cwd(), home: env['HOME'] ?? '/' })
  const heartbeat = env['PARLEY_TEST_HEARTBEAT_MS']
  const server = await startServer(config, {
    wrapStorage: crashAt(env['PARLEY_TEST_CRASH']),
    heartbeatMs: heartbeat === undefined ? undefined : Number(heartbeat),
  })
  console.log(`parley is listening on ${server.url}`)
  process.once('SIGTERM', () => void server[Symbol.asyncDispose]().then(() => process.exit(0)))
}

function crashAt(point: string | undefined): (storage: Storage) => Storage {
  if (point === undefined) return (storage) => storage
  const [when, ...rest] = point.split(':') as ['before' | 'after', ...string[]]
  const at = rest.join(':')
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
    const appendBash: Storage['bash']['append'] = async (user, event, closes) => {
      const isPoint = at.startsWith('bash:') && event.kind === 'BashCommand' && event.json.includes(at.slice(5))
      if (when === 'before' && isPoint) process.kill(process.pid, 'SIGKILL')
      await storage.bash.append(user, event, closes)
      if (when === 'after' && isPoint) process.kill(process.pid, 'SIGKILL')
    }
    return replacing(storage, {
      conversations: replacing(conversations, { append, delete: remove }),
      bash: replacing(storage.bash, { append: appendBash }),
    })
  }
}

/** The object with some of its members replaced. */
function replacing<T extends object>(object: T, members: Partial<T>): T {
  const replaced = members as Record<string | symbol, unknown>
  return new Proxy(object, { get: (target, name) => replaced[name] ?? bound(target, name) })
}

function bound(target: object, name: string | symbol): unknown {
  const member = Reflect.get(target, name) as unknown
  return typeof member === 'function' ? member.bind(target) : member
}
