/**
 * The end-to-end tests that run on PostgreSQL too, with `npm run test:postgres`: every file of these folders, except those that are left out; and
 * those of them that run on three nodes behind a load balancer that gives each request to the next node.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Folders below `test/`. */
export const FOLDERS: readonly string[] = [
  'agent-server',
  'conversation',
  'conversation-service',
  'crash',
  'guard',
  'http',
  'live',
  'modes',
  'postgres',
  'remote',
  'run',
  'steering',
  'sub-agents',
  'tools',
  'webhooks',
]

/** Files of these folders that do not run on PostgreSQL, with the reason. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  'conversation-service/admission.test.ts':
    'starts without keys and with keys of a prepared file, before any store is used',
  'conversation-service/fuzz.campaign.test.ts': 'reads rows of a SQLite file',
  'crash/backup.test.ts': 'parley backup copies a SQLite file, and is refused with a database',
  'crash/rekey.test.ts': 'parley secrets rekey works on a SQLite file, and is refused with a database',
  'crash/restore.test.ts': 'a SQLite file is copied into another directory',
  'crash/locked-store.campaign.test.ts':
    'holds locks of a SQLite file; test/postgres/outage.test.ts is about databases',
  'crash/matrix.campaign.test.ts': 'copies SQLite files between directories',
  'guard/approvals.campaign.test.ts': 'reads and damages rows of a SQLite file',
  'modes/users.test.ts': 'begins with the SQLite file of version 0.1.0',
}

/** The selection of `npm run test:postgres -- --short`: each subject once, within two minutes. */
export const SHORT: readonly string[] = [
  'conversation/interrupt.test.ts',
  'conversation/persistence.test.ts',
  'conversation-service/secrets.test.ts',
  'conversation-service/settings.test.ts',
  'crash/bash-end.test.ts',
  'guard/masked-calls.test.ts',
  'http/events.test.ts',
  'http/session-socket.test.ts',
  'http/sockets.test.ts',
  'postgres/outage.test.ts',
  'postgres/server.test.ts',
  'webhooks/out.test.ts',
]

/** Folders that do not run on three nodes, with the reason. */
export const FOLDERS_LEFT_OUT_ON_NODES: Readonly<Record<string, string>> = {
  'agent-server': 'files, git and commands of a machine that the requests do not name, which several nodes refuse',
  crash: 'one process is killed at a chosen commit, and its data directory is read; test/fleet kills nodes of several',
  modes: 'commands of the command line change the store while no server or one server runs',
  postgres: 'chooses its database, or the faults of its database, for one server',
  remote: 'each test has two servers already; test/fleet moves conversations with remote workspaces between nodes',
  run: 'the steps of one turn, which one node executes, whichever it is',
  'sub-agents': 'the steps of agents of one conversation, which one node executes, whichever it is',
  tools: 'the tools of one turn, which one node executes, whichever it is',
}

/** Files of the other folders that do not run on three nodes, with the reason. */
export const LEFT_OUT_ON_NODES: Readonly<Record<string, string>> = {
  'conversation/file-checkpoints.test.ts': 'checkpoints are folders in the data directory of the only server',
  'conversation/workspace-removal.test.ts': 'workspaces are folders in the data directory of the only server',
  'conversation-service/admission.test.ts': LEFT_OUT['conversation-service/admission.test.ts']!,
  'conversation-service/keys.test.ts':
    'limits of requests are shares of a node, and a node writes its lines of the audit log later than another one reads it',
  'conversation-service/replay.test.ts': 'writes files into the workspaces of the data directory of the only server',
  'conversation-service/replay-kill.campaign.test.ts':
    'writes files into the workspaces of the data directory of the only server',
  'conversation-service/replay-rules.test.ts':
    'writes files into the workspaces of the data directory of the only server',
  'conversation-service/users.test.ts': 'starts commands on a machine that the requests do not name',
  'guard/endurance.test.ts':
    'repeats for minutes what guard/policies, batches and hooks show; these run on three nodes',
  'guard/first-day.test.ts': 'starts one server without any setting',
  'guard/fixes.test.ts': 'reads the file of the secret key, and nodes share a key that is configured',
  'guard/projects.test.ts': 'works in the data directory of the only server',
  'guard/sandbox.test.ts': 'what commands reach on one machine; works in the data directory of the only server',
  'guard/toolchains.test.ts': 'what commands reach on one machine',
  'http/invalid-values.test.ts': 'writes templates of prompts into the data directory of the only server',
  'http/limits.test.ts': 'counts connections and wrong keys, as each node does by itself',
  'http/metrics.test.ts': 'reads the metrics of one node',
  'http/quotas.test.ts': 'limits are shares of a node; test/fleet/administration.test.ts has those of several',
  'http/worst-bodies.test.ts': 'measures how long one process does not respond',
}

/** The selection of three nodes in `npm run test:postgres -- --short`: each subject once. */
export const SHORT_ON_NODES: readonly string[] = [
  'conversation/interrupt.test.ts',
  'conversation-service/approval.test.ts',
  'conversation-service/settings.test.ts',
  'guard/batches.test.ts',
  'http/conversations.test.ts',
  'http/events.test.ts',
  'http/session-socket.test.ts',
  'http/sse.test.ts',
  'steering/secrets.test.ts',
  'webhooks/out.test.ts',
]

const ROOT = join(import.meta.dirname, '..')

/** All files of the list, relative to the root of the repository. */
export const postgresFiles = (): string[] => filesOf(FOLDERS)

/** Those of them that run on three nodes. */
export const filesOnNodes = (): string[] =>
  filesOf(FOLDERS.filter((folder) => !(folder in FOLDERS_LEFT_OUT_ON_NODES))).filter(
    (file) => !(file.slice('test/'.length) in LEFT_OUT_ON_NODES),
  )

const filesOf = (folders: readonly string[]): string[] =>
  folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder))
      .filter((name) => name.endsWith('.test.ts') && !(`${folder}/${name}` in LEFT_OUT))
      .map((name) => `test/${folder}/${name}`),
  )
