/** The menu of an approval with what the conversation asks about later. */
import { useState } from 'react'
import { messageOf, server } from '../api/server.ts'
import { membersOf, textOf } from '../log/read.ts'
import { policyOf } from '../log/state.ts'
import { useConversationState, useView } from '../timeline/context.ts'
import { announce } from '../ui/announce.tsx'
import { Ellipsis } from '../ui/icons.ts'
import { Menu } from '../ui/menu.tsx'
import { conversation as words } from '../words/conversation.en.ts'
import { dock as dockWords } from '../words/dock.en.ts'

/** Changes what this conversation asks about from now on. */
export function PolicyMenu() {
  const { conversation } = useView()
  const [problem, setProblem] = useState('')
  const set = (policy: unknown) => {
    server
      .call('POST', conversation.path('/confirmation_policy'), { body: { policy } })
      .then(() => announce(dockWords.policySet))
      .catch((error: unknown) => setProblem(messageOf(error)))
  }
  const { kind, threshold } = useConversationState(policyKey)
  return (
    <>
      <span className="note problem">{problem}</span>
      <Menu
        trigger={<Ellipsis size={16} aria-hidden />}
        label={dockWords.policyMenu}
        triggerLabel={dockWords.policyMenu}
        triggerClass="button button-quiet button-icon"
        side="above"
        groups={[
          {
            title: dockWords.fromNowOn,
            items: [
              {
                label: words.policy('ConfirmRisky', 'HIGH'),
                isChosen: kind === 'ConfirmRisky' && threshold === 'HIGH',
                run: () => set({ kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: true }),
              },
              {
                label: words.policy('ConfirmRisky', 'MEDIUM'),
                isChosen: kind === 'ConfirmRisky' && threshold === 'MEDIUM',
                run: () => set({ kind: 'ConfirmRisky', threshold: 'MEDIUM', confirm_unknown: true }),
              },
              {
                label: words.policy('AlwaysConfirm', ''),
                isChosen: kind === 'AlwaysConfirm',
                run: () => set({ kind: 'AlwaysConfirm' }),
              },
            ],
          },
        ]}
      />
    </>
  )
}

const policies = new WeakMap<object, { kind: string; threshold: string }>()
const DEFAULT_POLICY = { kind: 'NeverConfirm', threshold: '' }

function policyKey(state: Parameters<typeof policyOf>[0]): { kind: string; threshold: string } {
  const policy = membersOf(state['confirmation_policy'])
  if (textOf(policy['kind']) === '') return DEFAULT_POLICY
  const known = policies.get(policy) ?? policyOf(state)
  policies.set(policy, known)
  return known
}
