/** A model switch without an answer; test/acp has the other cases. Source: agent-core.md 11.9. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ACPAgent, asConversationId, replay } from '@parley/protocol'
import { expect, test } from 'vitest'
import type { AcpScript } from '../../../../testing/scripted-acp-agent.ts'
import { tempDir } from '../../../../testing/temp.ts'
import { openLocalWorkspaces } from '../../../workspace/index.ts'
import { AcpProcess } from '../acp-process.ts'
import { switchModel } from './switch-model.ts'
import { OWNER, testRoots } from '../../../../testing/roots.ts'

const AGENT = fileURLToPath(new URL('../../../../testing/scripted-acp-agent.ts', import.meta.url))
const conversationId = asConversationId('switching')
const log = { warn: () => undefined, error: () => undefined }
const models = { currentModelId: 'default', availableModels: [{ modelId: 'default', name: 'Default' }] }

test('a model switch without an answer in time changes nothing, and a later answered switch takes effect', async () => {
  await using dir = await tempDir()
  mkdirSync(dir.file('work'))
  const file = dir.file('agent.json')
  const script: AcpScript = { session: { models }, ignores: 'session/set_model' }
  writeFileSync(file, JSON.stringify(script))
  await using workspaces = openLocalWorkspaces({
    dataDir: dir.file('server'),
    roots: testRoots(dir.file('server')),
    idleExitMs: 200,
  })
  const never = new AbortController().signal
  const spec = { conversationId, owner: OWNER, workingDir: dir.file('work'), epoch: 1 }
  await using workspace = await workspaces.open(spec, never)
  await using acp = new AcpProcess({
    conversationId,
    workspace,
    dataDir: dir.file('data'),
    secrets: () => Promise.resolve({ names: [], values: {} }),
    seal: (text) => text,
    unseal: (text) => text,
    log,
  })
  const agent = ACPAgent.parse({ acp_command: [process.execPath, AGENT], acp_args: [file] })
  await acp.start(agent, replay([]), false, never)
  const late = switchModel(acp, 'other', null, 300)
  await expect(late).rejects.toMatchObject({ code: 'timed_out', message: /did not answer within 0.3 s/ })
  expect(acp.running?.session.models.current).toBe('default')

  writeFileSync(file, JSON.stringify({ session: { models } }))
  await acp.start(agent, replay([]), false, never)
  expect((await switchModel(acp, 'other', null))?.models.current).toBe('other')
  expect(acp.running?.session.models.current).toBe('other')
}, 60_000)
