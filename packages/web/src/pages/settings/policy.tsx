/** The policy of new conversations. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useMe } from '../../api/me.ts'
import { type SettingsAnswer, settingsQuery, useSettings } from '../../api/queries.ts'
import { messageOf, server } from '../../api/server.ts'
import { type Policy, policyOfSettings, settingsOf } from '../../lib/policy.ts'
import { Button } from '../../ui/button.tsx'
import { Failure } from '../../ui/listing.tsx'
import { policy as words } from '../../words/policy.en.ts'
import { SettingsFrame } from './frame.tsx'
import { lackOf, PolicyFields } from './policy-fields.tsx'

export function PolicySettingsPage() {
  const isReader = useMe().data?.role === 'read-only'
  const stored = useSettings()
  return (
    <SettingsFrame of="policy" lead={isReader ? words.readOnly : words.lead}>
      {stored.data === undefined && stored.error !== null && (
        <Failure error={stored.error} onRetry={() => void stored.refetch()} />
      )}
      {stored.data !== undefined && (isReader ? <Values of={stored.data} /> : <PolicyForm stored={stored.data} />)}
    </SettingsFrame>
  )
}

function PolicyForm({ stored }: { stored: SettingsAnswer }) {
  const client = useQueryClient()
  const [policy, setPolicy] = useState(() => policyOfSettings(stored))
  const change = useMutation({
    mutationFn: async (wanted: Policy) => {
      await server.call('POST', '/api/settings', { body: settingsOf(wanted) })
      await client.invalidateQueries({ queryKey: settingsQuery.queryKey })
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (lackOf(policy) === null && !change.isPending) change.mutate(policy)
  }
  const edit = (to: Policy): void => {
    setPolicy(to)
    change.reset()
  }
  return (
    <form className="settings-form" onSubmit={submit} noValidate>
      <PolicyFields policy={policy} onChange={edit} />
      <div className="settings-foot">
        <p className={change.isError ? 'settings-note problem' : 'settings-note'} role="status">
          {change.isError
            ? messageOf(change.error)
            : change.isSuccess
              ? words.saved
              : stored.confirmation_mode === null && words.notChosen}
        </p>
        <Button look="primary" type="submit" disabled={change.isPending}>
          {change.isPending ? words.saving : words.save}
        </Button>
      </div>
    </form>
  )
}

/** What is stored, for a key that may not change it. */
function Values({ of }: { of: SettingsAnswer }) {
  const { when, from, analyzers } = policyOfSettings(of)
  return (
    <dl className="settings-values">
      <dt>{words.when}</dt>
      <dd>{words.moments[when].title}</dd>
      {when === 'risky' && (
        <>
          <dt>{words.from}</dt>
          <dd>{words.risks[from].title}</dd>
          <dt>{words.analyzers}</dt>
          <dd>{analyzers.map((one) => words.kinds[one].title).join(', ')}</dd>
        </>
      )}
    </dl>
  )
}
