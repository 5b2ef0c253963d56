/** `parley serve`: starts the server; the first signal ends it in order, the second one at once. */
import { endOnCrash, readConfig, startServer, type Config } from '@parley/server'
import { command } from '../args.ts'
import { firstSteps, uiLine } from '../first-steps.ts'
import { printLine } from '../io.ts'
import { SERVER_FLAGS } from '../server-flags.ts'

/** Milliseconds after an orderly end in which the process ends by itself; work that was left undone may hold it open. */
const LEAVE_MS = 500
/** Signals within this time count as one. */
const SAME_SIGNAL_MS = 1000

const WITH_STDIN = 'until-stdin-ends'

export const spec = command({
  usage: 'serve [flags]',
  about: 'Starts the server. It ends on Ctrl-C; running conversations continue at the next start.',
  flags: {
    ...SERVER_FLAGS,
    [WITH_STDIN]: { type: 'boolean', about: 'end when the standard input ends; for programs that start a server' },
  },
  words: [0, 0],
  async run({ flags: { [WITH_STDIN]: endsWithStdin, ...flags } }, io) {
    const { config } = readConfig({ flags, env: io.env, cwd: io.cwd, home: io.home })
    endOnCrash()
    const asked = Promise.withResolvers<void>()
    let askedAt: number | null = null
    const forget = io.onSignal(() => {
      // Ctrl-C can arrive twice at once: from the terminal and from the parent process.
      if (askedAt === null) asked.resolve()
      else if (performance.now() - askedAt > SAME_SIGNAL_MS) io.exitNow(1)
      askedAt ??= performance.now()
    })
    if (endsWithStdin === true) io.stdin.on('end', () => asked.resolve()).resume()
    try {
      const server = await startServer(config).catch((error: unknown) => {
        throw withRemedy(error, config)
      })
      try {
        printLine(io, `parley is listening on ${server.url}`)
        const link = await uiLine(server, io)
        if (link !== null) printLine(io, link)
        if (server.firstKey !== null) printLine(io, firstSteps(server.url, server.firstKey, io))
        await asked.promise
      } finally {
        await server[Symbol.asyncDispose]()
      }
      setTimeout(() => io.exitNow(0), LEAVE_MS).unref()
      return 0
    } finally {
      if (endsWithStdin === true) io.stdin.pause()
      forget()
    }
  },
})

function withRemedy(error: unknown, { host, port }: Config): unknown {
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  const ways: Record<string, string> = {
    EADDRINUSE: `port ${port} of ${host} is taken; choose another with --port, or any free one with --port 0`,
    EACCES: `port ${port} needs rights this user does not have; choose one above 1023 with --port`,
    EADDRNOTAVAIL: `${host} is no address of this machine; use 127.0.0.1, or 0.0.0.0 for all of them`,
  }
  const way = code === undefined ? undefined : ways[code]
  const isListening = (error as NodeJS.ErrnoException | undefined)?.syscall === 'listen'
  return way !== undefined && isListening ? new Error(way, { cause: error }) : error
}
