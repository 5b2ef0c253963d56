/** The commands of the agent on the branch that is shown, and their loading. */
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { messageOf, server } from '../../api/server.ts'
import { listOf, membersOf, numberOf } from '../../log/read.ts'
import type { Row } from '../../log/rows.ts'
import type { OpenConversation } from '../../socket/conversation.ts'

/** Events of one request at most. */
const RUN = 200

/** The newest `count` commands, oldest first; and how many there are before them. */
export function useAgentCommands(conversation: OpenConversation, count: number) {
  const { log } = conversation
  const rows = useSyncExternalStore(log.subscribe, log.rows)
  const all = useMemo(() => rows.filter(({ type, name }) => type === 'tool' && name === 'terminal'), [rows])
  const shown = useMemo(() => all.slice(-count), [all, count])
  const { problem, retry } = useLoaded(conversation, shown)
  return { shown, before: all.length - shown.length, problem, retry }
}

/** Loads the events of rows in requests of their own: the loader of the timeline serves what is visible there. */
function useLoaded(conversation: OpenConversation, rows: readonly Row[]) {
  const { log } = conversation
  const isBusy = useRef(false)
  const [problem, setProblem] = useState('')
  useEffect(() => {
    const next = nextRun(rows, (seq) => log.event(seq) !== undefined)
    if (next === null || isBusy.current || problem !== '') return
    isBusy.current = true
    const load = async () => {
      const query = { seqs: `${next[0]}-${next[1]}` }
      const page = membersOf(await server.call('GET', conversation.path('/events/search'), { query }))
      const seqs = listOf(page['seqs'])
      isBusy.current = false
      log.takeEvents(listOf(page['items']).map((event, index) => [numberOf(seqs[index]) ?? 0, event] as const))
    }
    load().catch((error: unknown) => {
      isBusy.current = false
      setProblem(messageOf(error))
    })
  })
  return { problem, retry: () => setProblem('') }
}

/** The next range of events that are missing, from the newest command on; null when all are there. */
function nextRun(rows: readonly Row[], isLoaded: (seq: number) => boolean): [first: number, last: number] | null {
  const missing = rows.flatMap(({ seq, answer }) => [seq, answer]).filter((seq) => seq > 0 && !isLoaded(seq))
  if (missing.length === 0) return null
  const last = Math.max(...missing)
  return [Math.min(...missing.filter((seq) => seq > last - RUN)), last]
}
