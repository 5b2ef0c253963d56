/** The model of the settings: provider, name, address and key. It is tried before it is saved. */
import { useMe } from '../api/me.ts'
import { type SettingsAnswer, useSettings } from '../api/queries.ts'
import { partsOf } from '../lib/model-name.ts'
import { Failure } from '../ui/listing.tsx'
import { settings as words } from '../words/settings.en.ts'
import { ModelForm } from './model-form.tsx'
import { SettingsFrame } from './settings/frame.tsx'
import './settings-model.css'

export function ModelSettingsPage() {
  const me = useMe().data
  const stored = useSettings()
  const isReader = me?.role === 'read-only'
  const isServers = me?.has_model === true && stored.data?.llm_model === null
  return (
    <SettingsFrame
      of="model"
      lead={isReader ? words.model.readOnly : isServers ? words.model.servers : words.model.lead}
    >
      {stored.data === undefined && stored.error !== null && (
        <Failure error={stored.error} onRetry={() => void stored.refetch()} />
      )}
      {stored.data !== undefined && (isReader ? <Values stored={stored.data} /> : <ModelForm stored={stored.data} />)}
    </SettingsFrame>
  )
}

/** What is stored, for a key that may not change it. */
function Values({ stored }: { stored: SettingsAnswer }) {
  if (stored.llm_model === null) return <p className="settings-form">{words.model.none}</p>
  const { provider, name } = partsOf(stored.llm_model, stored.llm_base_url)
  const titles: Readonly<Record<string, { readonly title: string }>> = words.model.providers
  return (
    <dl className="settings-values">
      <dt>{words.model.provider}</dt>
      <dd>{titles[provider]?.title ?? (provider === 'compatible' ? words.model.compatible : provider)}</dd>
      <dt>{words.model.name}</dt>
      <dd>{name}</dd>
      {stored.llm_base_url !== null && (
        <>
          <dt>{words.model.address}</dt>
          <dd>{stored.llm_base_url}</dd>
        </>
      )}
      <dt>{words.model.key}</dt>
      <dd>{stored.llm_api_key_set ? words.model.keyShown : words.model.keyNone}</dd>
    </dl>
  )
}
