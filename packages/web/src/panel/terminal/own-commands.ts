/** Commands that a person runs in the workspace, beside the agent. The server keeps them, for the person alone. */
import type { BashEvent } from '@parley/protocol'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { get } from '../../api/queries.ts'
import { messageOf, server } from '../../api/server.ts'
import { timeOf } from '../../log/read.ts'
import { newId } from '../../lib/new-id.ts'
import { Connection } from '../../socket/connection.ts'

/** Newest commands and outputs that are read, of all directories. */
const LIMIT = 100
/** Seconds that a command may take. */
const TIMEOUT = 600
/** Milliseconds between two reads while a command runs, in case that the socket missed its end. */
const RUNNING_MS = 15_000

export type OwnCommand = {
  readonly id: string
  readonly command: string
  /** Milliseconds since 1970. */
  readonly at: number
  readonly output: string
  /** Null while it runs. */
  readonly exitCode: number | null
  /** Why its result is not known; empty otherwise. */
  readonly problem: string
}

/** The commands in a directory, oldest first, and the function that runs another one. */
export function useOwnCommands(conversation: string, directory: string, isOn: boolean) {
  const client = useQueryClient()
  const [sent, setSent] = useState<readonly OwnCommand[]>([])
  const queryKey = ['own-commands', directory]
  const { data = [] } = useQuery({
    queryKey,
    queryFn: async ({ signal }) => commandsIn(await newest(signal), directory),
    enabled: isOn && directory !== '',
    refetchInterval: ({ state }) =>
      state.data?.some(({ exitCode }) => exitCode === null) === true ? RUNNING_MS : false,
  })
  useEffect(() => {
    if (!isOn) return undefined
    const connection = new Connection({
      url: () => server.socketUrl(`/sockets/bash-events?conversation_id=${encodeURIComponent(conversation)}`),
      token: server.token,
      lastSeq: () => 0,
      onFrames: () => void client.invalidateQueries({ queryKey: ['own-commands'] }),
      onState: () => undefined,
    })
    return () => connection.close()
  }, [client, conversation, isOn])
  const run = async (command: string): Promise<void> => {
    const own: OwnCommand = { id: newId(), command, at: Date.now(), output: '', exitCode: null, problem: '' }
    setSent((all) => [...all, own])
    const body = { command, cwd: directory, timeout: TIMEOUT }
    const query = { conversation_id: conversation }
    try {
      await server.call('POST', '/api/bash/start_bash_command', { body, query })
      await client.invalidateQueries({ queryKey })
      setSent((all) => all.filter(({ id }) => id !== own.id))
    } catch (error) {
      const failed = { ...own, exitCode: -1, problem: messageOf(error) }
      setSent((all) => all.map((each) => (each.id === own.id ? failed : each)))
    }
  }
  return { commands: [...data, ...sent], run }
}

async function newest(signal: AbortSignal): Promise<readonly BashEvent[]> {
  const query = { limit: LIMIT, sort_order: 'TIMESTAMP_DESC' }
  return (await get<{ items: BashEvent[] }>('/api/bash/bash_events/search', signal, query)).items
}

/** The commands in a directory with their outputs, oldest first. @param events newest first */
function commandsIn(events: readonly BashEvent[], directory: string): OwnCommand[] {
  const outputs = new Map<string, Extract<BashEvent, { kind: 'BashOutput' }>[]>()
  for (const event of events)
    if (event.kind === 'BashOutput') outputs.set(event.command_id, [event, ...(outputs.get(event.command_id) ?? [])])
  return events
    .filter((event) => event.kind === 'BashCommand')
    .filter(({ cwd }) => cwd === directory)
    .map(({ id, command, timestamp }) => {
      const parts = (outputs.get(id) ?? []).toSorted((a, b) => a.order - b.order)
      return {
        id,
        command,
        at: timeOf(timestamp) ?? 0,
        output: parts.map(({ stdout, stderr }) => `${stdout ?? ''}${stderr ?? ''}`).join(''),
        exitCode: parts.at(-1)?.exit_code ?? null,
        problem: '',
      }
    })
    .toReversed()
}
