/** Who works in a new conversation: the model, or for a directory an agent profile. */
import { useAgentProfiles, useModelProfiles, useSettings } from '../api/queries.ts'
import { Field } from '../ui/field.tsx'
import { create as words } from '../words/create.en.ts'

type Choice = { readonly chosen: string | null; readonly onChoose: (id: string | null) => void }

export function ModelField({ chosen, onChoose }: Choice) {
  const profiles = useModelProfiles().data?.profiles ?? []
  const settings = useSettings().data
  const model = settings?.agent_settings.llm?.model ?? null
  return (
    <Field label={words.model}>
      {(control) => (
        <select {...control} value={chosen ?? ''} onChange={(event) => onChoose(event.target.value || null)}>
          <option value="">{words.modelDefault(model)}</option>
          {profiles.map((profile) => (
            <option key={profile.name} value={profile.name}>
              {profile.model === null ? profile.name : `${profile.name} · ${profile.model}`}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

export function AgentField({ chosen, onChoose }: Choice) {
  const answer = useAgentProfiles().data
  const profiles = answer?.profiles ?? []
  return (
    <Field label={words.agent}>
      {(control) => (
        <select
          {...control}
          value={chosen ?? answer?.active_agent_profile_id ?? profiles[0]?.id ?? ''}
          onChange={(event) => onChoose(event.target.value || null)}
        >
          {profiles.map(({ id, name, llm_profile_ref }) => (
            <option key={id} value={id}>
              {llm_profile_ref === null || llm_profile_ref === name ? name : `${name} · ${llm_profile_ref}`}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}
