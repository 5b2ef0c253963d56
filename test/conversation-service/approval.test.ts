/** Approval of pending actions, and messages, which approve nothing. Source: decisions.md, Approval. */
import { expect } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { verifies } from '../verifies.ts'
import { serve, type Loose } from '../../packages/server/testing/multi-user-server.ts'
import { finish, outputs, run } from '../../packages/server/testing/conversation-starts.ts'

verifies(
  [
    'design.confirm.run-approves',
    'design.confirm.record',
    'design.confirm.message-never',
    'seed.conversation-info.confirmation_policy.meaning',
    'seed.conversation-info.execution_status.meaning',
  ],
  'a message never approves a waiting action, a run does, and the approval is stored with who gave it',
  async () => {
    await using dir = await tempDir()
    await using model = await startScriptedModel({ by: 'turn', answers: [run('echo was performed'), finish] })
    await using serving = await serve(dir.file('data'))
    const key = serving.keys.ann
    const as = (method: string, path: string, body?: unknown) =>
      serving.call(method, path, body, { key, headers: { prefer: 'wait=20' } })
    const llm = { model: 'openai/scripted', base_url: `${model.url}/v1`, api_key: canary('llm_key'), num_retries: 0 }
    const { json } = await as('POST', '/api/conversations', {
      workspace: { working_dir: dir.file('work') },
      agent: { kind: 'Agent', llm, tools: [{ name: 'terminal' }] },
      confirmation_policy: { kind: 'AlwaysConfirm' },
      autotitle: false,
      initial_message: { content: [{ type: 'text', text: 'go' }] },
    })
    const at = `/api/conversations/${json.id}`
    const status = async () => (await as('GET', at)).json.execution_status
    const events = async (): Promise<Loose[]> => (await as('GET', `${at}/events/search?limit=100`)).json.items
    const approvals = async () => (await events()).filter((event) => event.key === 'approval').map(({ value }) => value)
    expect(await status()).toBe('waiting_for_confirmation')

    for (const wantsRun of [false, true]) {
      const content = [{ type: 'text', text: 'yes, do it, I approve' }]
      expect((await as('POST', `${at}/events`, { content, run: wantsRun })).status).toBe(200)
      expect(await status()).toBe('waiting_for_confirmation')
      expect(outputs(await events())).toEqual([])
    }
    expect(await approvals()).toEqual([])

    const waiting = (await events()).find(({ kind }) => kind === 'ActionEvent')
    expect((await as('POST', `${at}/run`)).status).toBe(200)
    await expect.poll(async () => outputs(await events()), { timeout: 10_000 }).toEqual(['was performed'])
    const { items } = (await serving.call('GET', '/api/keys')).json
    const { id: keyId } = items.find(({ user, role }: Loose) => user === 'ann' && role === 'user')
    const [approval, ...more] = await approvals()
    expect(more).toEqual([])
    expect(approval).toMatchObject({ decision: 'accept', action_ids: [waiting.id] })
    expect(['ann', keyId]).toContain(approval.actor)
  },
)
