/** `parley chat`: one conversation in the terminal, or with lines from a pipe. */
import type { Conversation, ParleyClient } from '@parley/client'
import { command } from '../args.ts'
import { ChatSession } from '../chat-session.ts'
import { connect, CONNECT_FLAGS } from '../connect.ts'
import { findConversation } from '../find-conversation.ts'
import type { Io } from '../io.ts'
import { confirmOf, START_FLAGS, startConversation } from '../start-conversation.ts'
import { viewOf, writeLines } from '../view.ts'

export const spec = command({
  usage: 'chat [flags]',
  about:
    'Talks to an agent. A line is a message; /pause, /run, /interrupt and /quit steer it.\n' +
    'At a pending approval: y approves, n rejects, any other line rejects and becomes the reason.',
  flags: {
    conversation: {
      type: 'string',
      value: 'ID',
      short: 'c',
      about: 'continue this conversation instead of starting one',
    },
    ...START_FLAGS,
    confirm: { type: 'string', value: 'WHEN', about: 'ask before actions: never (default), risky or always' },
    ...CONNECT_FLAGS,
  },
  words: [0, 0],
  async run({ flags }, io) {
    const client = await connect(flags, io)
    const conversation = await open(client, flags, io)
    const info = await conversation.info()
    const workingDir = info.workspace.working_dir
    await writeLines(io, [`conversation ${conversation.id} in ${workingDir}`])
    return new ChatSession(conversation, info.execution_status, viewOf(io, workingDir), io).run()
  },
})

type Flags = { conversation?: string; model?: string; workspace?: string; confirm?: string }

async function open(client: ParleyClient, flags: Flags, io: Io): Promise<Conversation> {
  if (flags.conversation !== undefined) return client.conversation(await findConversation(client, flags.conversation))
  const { workspace } = flags
  const model = flags.model ?? (io.env['PARLEY_MODEL'] || undefined)
  return startConversation(client, { model, workspace, confirm: confirmOf(flags.confirm, 'never') }, io)
}
