/** `parley tail`: prints the events of one conversation from a position in its log, across restarts of the server. */
import { command, UsageError } from '../args.ts'
import { connect, CONNECT_FLAGS } from '../connect.ts'
import { findConversation, idWord } from '../find-conversation.ts'
import { render } from '../render.ts'
import { viewOf, writeLines } from '../view.ts'

export const spec = command({
  usage: 'tail ID [flags]',
  about: 'Prints the events of a conversation as they arrive, until Ctrl-C or its deletion.',
  flags: {
    after: { type: 'string', value: 'SEQ', about: 'begin after this seq (default 0, the beginning)' },
    json: { type: 'boolean', about: 'print {"seq": …, "event": …}, one per line' },
    ...CONNECT_FLAGS,
  },
  words: [1, 1],
  async run({ flags, words }, io) {
    const word = idWord(words[0]!)
    const after = flags.after === undefined ? 0 : Number(flags.after)
    if (!Number.isSafeInteger(after) || after < 0)
      throw new UsageError(`--after must be a whole number from 0, not "${flags.after}"`)
    const client = await connect(flags, io)
    const conversation = client.conversation(await findConversation(client, word))
    const view = viewOf(io)
    const stop = new AbortController()
    const forget = io.onSignal(() => stop.abort())
    try {
      for await (const frame of conversation.watch({ after, signal: stop.signal })) {
        if (frame.type === 'refused') io.stderr.write(`parley tail: the stream has ended: ${frame.reason}\n`)
        if (frame.type !== 'event') continue
        const { seq, event } = frame
        await writeLines(io, flags.json === true ? [JSON.stringify({ seq, event })] : render(event, view))
      }
      return 0
    } catch (error) {
      if (stop.signal.aborted) return 0
      throw error
    } finally {
      forget()
    }
  },
})
