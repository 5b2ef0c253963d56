/** `parley demo`: a whole conversation on this machine with a scripted model. Leaves nothing behind. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Conversation, ParleyClient } from '@parley/client'
import { readConfig, startServer } from '@parley/server'
import { command } from '../args.ts'
import type { Io } from '../io.ts'
import { render, type View } from '../render.ts'
import { Turn } from '../turn.ts'
import { viewOf, writeLines } from '../view.ts'

/** A demo that takes longer than this fails with a message. */
const DEADLINE_MS = 60_000

export const spec = command({
  usage: 'demo',
  about:
    'Starts a server of its own, lets an agent fix a failing test, checks the result and removes everything again.',
  flags: {},
  words: [0, 0],
  async run(_args, io) {
    // Short, because the path appears in the agent's terminal and in a socket address.
    const folder = await mkdtemp(join(tmpdir(), 'parley-demo-'))
    const stop = new AbortController()
    const forget = io.onSignal(() => stop.abort(new Error('stopped')))
    try {
      return await demo(folder, io, AbortSignal.any([stop.signal, AbortSignal.timeout(DEADLINE_MS)]))
    } finally {
      forget()
      await rm(folder, { recursive: true, force: true, maxRetries: 3 })
    }
  },
})

async function demo(folder: string, io: Io, signal: AbortSignal): Promise<number> {
  await using server = await startDemoServer(folder, io)
  const client = new ParleyClient({
    baseUrl: server.url,
    ...(server.firstKey === null ? {} : { apiKey: server.firstKey.key }),
  })
  const conversation = await client.startDemo(signal)
  try {
    const { workspace } = await conversation.info(signal)
    const project = workspace.working_dir
    const view = viewOf(io, project)
    await writeLines(io, [`A server listens on ${server.url}; no model key is needed.`, ''])
    const status = await follow(conversation, view, io, signal)
    if (status !== 'finished') throw new Error(`the conversation ended as ${status}, not as finished`)
    const after = await runTest(project, io.env)
    if (!after.passes) throw new Error(`the conversation finished, but the test still fails:\n${after.output}`)
    await writeLines(io, [
      '',
      view.paint('green', '✓ The test passes now: checked outside the conversation.'),
      view.paint('dim', 'Everything is removed again. Start your own with: parley serve'),
    ])
  } finally {
    await conversation.delete()
  }
  return 0
}

/** Runs the test of the project by itself, outside the conversation. */
async function runTest(
  folder: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ passes: boolean; output: string }> {
  // Inside another test run, Node's test runner only reports to its parent.
  const { NODE_TEST_CONTEXT: _outer, ...rest } = env
  return new Promise((resolve, reject) => {
    execFile(process.execPath, ['--test'], { cwd: folder, env: rest, timeout: 30_000 }, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== 'number') reject(error)
      else resolve({ passes: error === null, output: `${stdout}${stderr}` })
    })
  })
}

async function startDemoServer(folder: string, io: Io): ReturnType<typeof startServer> {
  const dataDir = join(folder, 'data')
  await mkdir(dataDir, { mode: 0o700 })
  // The configuration of this machine must not change the demo, and the runner must not wait for another server.
  const env = { PARLEY_RUNNER_ORPHAN_EXIT_SECONDS: '2' }
  // It runs only the commands of its own script.
  const flags = { port: '0', 'data-dir': dataDir, 'log-level': 'silent', 'allow-root': true }
  return startServer(readConfig({ flags, env, cwd: io.cwd, home: io.home }).config)
}

/** Prints events until the run has ended. Resolves to its last status. */
async function follow(conversation: Conversation, view: View, io: Io, signal: AbortSignal): Promise<string> {
  const turn = new Turn('idle')
  turn.asked()
  for await (const { event } of conversation.events({ after: 0, signal })) {
    turn.see(event)
    await writeLines(io, render(event, view))
    if (!turn.isOver) continue
    if (turn.status !== 'waiting_for_confirmation') return turn.status
    await writeLines(io, [view.paint('yellow', '? Here a person decides. The demo approves the change.')])
    turn.resumed()
    await conversation.respond(
      { accept: true, ...(turn.batchId === undefined ? {} : { batch_id: turn.batchId }) },
      signal,
    )
  }
  throw new Error('the conversation disappeared')
}
