/** `parley` without a command: an interactive session in the current directory. */
import { command, UsageError } from '../args.ts'
import { CONNECT_FLAGS } from '../connect.ts'
import { findConversation, newestIn, shortId } from '../find-conversation.ts'
import type { Io } from '../io.ts'
import { printLine } from '../io.ts'
import { connectOrStart } from '../own-server.ts'
import { confirmOf, START_FLAGS, startConversation } from '../start-conversation.ts'
import type { Conversation, ParleyClient } from '@parley/client'

export const spec = command({
  usage: '[flags]',
  about:
    'Talks to an agent in the current directory. Uses the server that runs on this machine, or one that ends with the session.',
  flags: {
    ...START_FLAGS,
    confirm: { type: 'string', value: 'WHEN', about: 'ask before actions: never, risky (default) or always' },
    continue: { type: 'boolean', short: 'c', about: 'continue the newest conversation of this directory' },
    resume: { type: 'string', short: 'r', value: 'ID', about: 'continue this conversation; "parley ls" lists them' },
    ...CONNECT_FLAGS,
  },
  words: [0, 0],
  async run({ flags }, io) {
    if (io.stdin.isTTY !== true || io.stdout.isTTY !== true)
      throw new UsageError('a session needs a terminal; for a pipe, use: parley run')
    const { model, workspace } = flags
    const confirm = confirmOf(flags.confirm, 'risky')
    await using server = await connectOrStart(flags, io, () => printLine(io, 'no server is running; starting one …'))
    const { client } = server
    const startNew = () => startConversation(client, { model, workspace, confirm }, io)
    const first = await open(client, flags, io, startNew)
    const { workspace: place } = await first.info()
    const { TerminalSession } = await import('../session/terminal-session.ts')
    const id = await new TerminalSession({ client, io, directory: place.working_dir, startNew }).run(first)
    printLine(io, `continue with: parley --resume ${shortId(id)}`)
    return 0
  },
})

async function open(
  client: ParleyClient,
  flags: { continue?: boolean; resume?: string },
  io: Pick<Io, 'cwd'>,
  startNew: () => Promise<Conversation>,
): Promise<Conversation> {
  if (flags.resume !== undefined) return client.conversation(await findConversation(client, flags.resume))
  if (flags.continue !== true) return startNew()
  const newest = await newestIn(client, io.cwd)
  if (newest === null) throw new Error('this directory has no conversation to continue; begin one with: parley')
  return client.conversation(newest.id)
}
