/** `parley open`: prints a link that opens the web UI of a running server. */
import { command } from '../args.ts'
import { connect, CONNECT_FLAGS } from '../connect.ts'
import { printLine } from '../io.ts'

export const spec = command({
  usage: 'open [flags]',
  about:
    'Prints a link that opens the web UI of a running server. It logs one browser in, once and within ten minutes.',
  flags: CONNECT_FLAGS,
  words: [0, 0],
  async run({ flags }, io) {
    printLine(io, await (await connect(flags, io)).loginLink())
    return 0
  },
})
