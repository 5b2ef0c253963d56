/** The log of a conversation with the phases of its start, which searches leave out. */
import { openSocket } from './socket.ts'

type Loose = ReturnType<typeof JSON.parse>

/** Every event that is stored now, in the form of frames, in the order of the log. */
export async function wholeLog(url: string, id: string, key: string): Promise<Loose[]> {
  const path = `/sockets/session/${id}?after_seq=0`
  await using socket = openSocket(url.replace('http', 'ws') + path, { 'x-session-api-key': key })
  const { seq: newest } = await socket.next(({ type }) => type === 'snapshot')
  if (newest > 0) await socket.next(({ type, seq }) => type === 'event' && seq === newest)
  return socket.frames.flatMap(({ type, seq, event }) => (type === 'event' && seq <= newest ? [event] : []))
}
