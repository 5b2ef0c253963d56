/** `parley chat`: one conversation in the terminal, or with lines from a pipe. */
import type { Conversation, ParleyClient } from '@parley/client'
import { resolve } from 'node:path'
import { command, UsageError } from '../args.ts'
import { ChatSession } from '../chat-session.ts'
import { connect, CONNECT_FLAGS } from '../connect.ts'
import { conversationIdOf } from '../conversation-id.ts'
import type { Io } from '../io.ts'
import { viewOf, writeLines } from '../view.ts'

const POLICIES = {
  never: { kind: 'NeverConfirm' },
  risky: { kind: 'ConfirmRisky' },
  always: { kind: 'AlwaysConfirm' },
} as const

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
    model: {
      type: 'string',
      value: 'NAME',
      short: 'm',
      about:
        'model of a new conversation, with LLM_API_KEY and LLM_BASE_URL if set; default PARLEY_MODEL, otherwise the model of the server',
    },
    workspace: {
      type: 'string',
      value: 'DIR',
      short: 'w',
      about: 'working directory of the agent (default: the current one)',
    },
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
  if (flags.conversation !== undefined) return client.conversation(conversationIdOf(flags.conversation))
  const when = flags.confirm ?? 'never'
  if (!Object.hasOwn(POLICIES, when)) throw new UsageError(`--confirm must be never, risky or always, not "${when}"`)
  const model = flags.model ?? nonEmpty(io.env['PARLEY_MODEL'])
  if (model === undefined) return withStoredModel(client, flags)
  const key = nonEmpty(io.env['LLM_API_KEY'])
  const baseUrl = nonEmpty(io.env['LLM_BASE_URL'])
  const { id } = await client.start({
    agent: {
      kind: 'Agent',
      llm: {
        model,
        stream: true,
        ...(key === undefined ? {} : { api_key: key }),
        ...(baseUrl === undefined ? {} : { base_url: baseUrl }),
      },
      tools: [{ name: 'terminal' }, { name: 'file_editor' }, { name: 'task_tracker' }],
    },
    workspace: { kind: 'LocalWorkspace', working_dir: resolve(io.cwd, flags.workspace ?? '.') },
    confirmation_policy: POLICIES[when as keyof typeof POLICIES],
  })
  return client.conversation(id)
}

/** Starts a conversation with the server's model; the server also chooses its working directory and confirmation policy. */
async function withStoredModel(client: ParleyClient, flags: Flags): Promise<Conversation> {
  const needsModel = (['workspace', 'confirm'] as const).find((name) => flags[name] !== undefined)
  if (needsModel !== undefined) throw new UsageError(`--${needsModel} needs --model as well`)
  const { conversation_id } = await client.startFromSettings({})
  return client.conversation(conversationIdOf(conversation_id))
}

const nonEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text)
