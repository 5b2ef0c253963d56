/** `parley run`: one message, answered to its end, for scripts. */
import { newConversationId, type Conversation, type ParleyClient } from '@parley/client'
import { command, UsageError } from '../args.ts'
import { CONNECT_FLAGS } from '../connect.ts'
import { findConversation, newestIn, shortId } from '../find-conversation.ts'
import type { Io } from '../io.ts'
import { connectOrStart } from '../own-server.ts'
import { render } from '../render.ts'
import { confirmOf, START_FLAGS, startConversation } from '../start-conversation.ts'
import { usageOf } from '../usage.ts'
import { Turn } from '../turn.ts'
import { viewOf, writeLines } from '../view.ts'

/** Exit codes by the status at the end of the run; 2 is an unusable command line. */
const EXIT_CODES: Record<string, number> = { finished: 0, idle: 0, paused: 3, waiting_for_confirmation: 4 }

export const spec = command({
  usage: 'run [MESSAGE] [flags]',
  about:
    'Sends one message and waits for the end of the run. Without MESSAGE, the standard input is the message.\n' +
    'Prints the answer; the steps go to the standard error output. Exit codes: 0 finished, 1 failed or stuck, 2 unusable command line,\n' +
    '3 paused or interrupted, 4 an action waits for an approval.',
  flags: {
    ...START_FLAGS,
    confirm: { type: 'string', value: 'WHEN', about: 'stop before actions: never, risky (default) or always' },
    continue: { type: 'boolean', short: 'c', about: 'continue the newest conversation of this directory' },
    conversation: { type: 'string', value: 'ID', about: 'continue this conversation' },
    json: { type: 'boolean', about: 'print each event and then the result as one JSON object per line' },
    quiet: { type: 'boolean', short: 'q', about: 'print the answer alone' },
    ...CONNECT_FLAGS,
  },
  words: [0, 1],
  async run({ flags, words }, io) {
    const text = (words[0] ?? (await textOf(io))).trim()
    if (text === '') throw new UsageError('the message is empty: parley run "MESSAGE"')
    await using server = await connectOrStart(flags, io, () => {})
    const conversation = await open(server.client, flags, io)
    return await answer(conversation, text, { isJson: flags.json === true, isQuiet: flags.quiet === true }, io)
  },
})

type Flags = {
  model?: string
  workspace?: string
  confirm?: string
  continue?: boolean
  conversation?: string
}

async function open(client: ParleyClient, flags: Flags, io: Io): Promise<Conversation> {
  const { model, workspace } = flags
  if (flags.conversation !== undefined) return client.conversation(await findConversation(client, flags.conversation))
  if (flags.continue === true) {
    const newest = await newestIn(client, io.cwd)
    if (newest === null) throw new Error('this directory has no conversation to continue')
    return client.conversation(newest.id)
  }
  return startConversation(client, { model, workspace, confirm: confirmOf(flags.confirm, 'risky') }, io)
}

async function textOf({ stdin }: Io): Promise<string> {
  if (stdin.isTTY === true) throw new UsageError('the message is missing: parley run "MESSAGE"')
  let text = ''
  for await (const piece of stdin.setEncoding('utf8')) text += piece
  return text
}

/** Follows the conversation from the message to the end of its run. Ctrl-C interrupts the run; a second one leaves. */
async function answer(
  conversation: Conversation,
  text: string,
  { isJson, isQuiet }: { isJson: boolean; isQuiet: boolean },
  io: Io,
): Promise<number> {
  const { workspace, execution_status } = await conversation.info()
  const steps = viewOf({ stdout: io.stderr, env: io.env }, workspace.working_dir)
  const turn = new Turn(execution_status)
  const stop = new AbortController()
  let isInterrupting = false
  const forget = io.onSignal(() => {
    if (isInterrupting) return stop.abort(new Error('interrupted'))
    isInterrupting = true
    conversation.interrupt().catch(() => stop.abort(new Error('interrupted')))
  })
  try {
    const event_id = newConversationId()
    turn.asked()
    await conversation.send(text, { event_id })
    let isBefore = true
    for await (const { seq, event } of conversation.events({ signal: stop.signal })) {
      if (String(event.id) === event_id) isBefore = false
      // The run may have begun before the message is stored; earlier messages are not of this turn.
      if (!isBefore || event.kind === 'ConversationStateUpdateEvent') turn.see(event)
      if (isBefore) continue
      if (isJson) await writeLines(io, [JSON.stringify({ type: 'event', seq, event })])
      else if (!isQuiet) await writeLines({ stdout: io.stderr }, render(event, steps))
      if (turn.isOver) break
    }
  } finally {
    forget()
  }
  const response = await conversation.finalResponse()
  const info = await conversation.info()
  const { id, stats } = info
  if (isJson) {
    const result = { type: 'result', status: turn.status, conversation_id: id, response, ...usageOf(stats) }
    await writeLines(io, [JSON.stringify(result)])
  } else {
    if (response !== '' && turn.status !== 'waiting_for_confirmation') await writeLines(io, [response])
    if (turn.status === 'waiting_for_confirmation')
      io.stderr.write(`parley run: an action waits for an approval; decide with: parley --resume ${shortId(id)}\n`)
  }
  return EXIT_CODES[turn.status] ?? 1
}
