import { expect, test } from 'vitest'
import { verifies } from '../../../../../../test/verifies.ts'
import { fingerprint, priorSession } from './prior.ts'
import { readState, type AcpState } from '../state.ts'

const here = { conversationId: 'c1', cwd: '/w', unseal: (sealed: string) => sealed.replace('sealed ', '') }
const stored = (members: Partial<AcpState>): AcpState => readState({ agent_state: members })
const mine = stored({ acp_conversation_id: 'c1', acp_session_id: 'sealed s2', acp_session_cwd: '/w' })

verifies('seed.agent.acp.acp_resume_session_id.precedence', 'a named session has precedence over a stored one', () => {
  expect(priorSession('s1', mine, here)).toEqual({ id: 's1', isStored: false })
})

test.each<[string, string | null, AcpState, ReturnType<typeof priorSession>]>([
  ['none without a name and a store', null, stored({}), null],
  ['the stored one when none is named', null, mine, { id: 's2', isStored: true }],
  ['the stored one when it is also named', 's2', mine, { id: 's2', isStored: true }],
  ['none when the stored one belongs to another directory', null, { ...mine, acp_session_cwd: '/x' }, null],
  ['none when the named one is stored for another directory', 's2', { ...mine, acp_session_cwd: '/x' }, null],
  [
    'the stored one when the agent refused the named one',
    's1',
    { ...mine, acp_refused_session: fingerprint('s1') },
    { id: 's2', isStored: true },
  ],
  ['none in a fork', null, { ...mine, acp_conversation_id: 'c0' }, null],
  ['none in a fork of a conversation that named one', 's1', { ...mine, acp_conversation_id: 'c0' }, null],
])('the session to resume: %s', (_, named, state, expected) => {
  expect(priorSession(named, state, here)).toEqual(expected)
})
