/** The form of the page of the model. */
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { KEPT, type ModelSettings } from '../api/model.ts'
import type { SettingsAnswer } from '../api/queries.ts'
import { COMPATIBLE, mainOf, modelOf, needsAddress, needsKey, type ModelParts, partsOf } from '../lib/model-name.ts'
import { useModelChange } from '../lib/use-model-change.ts'
import { Button } from '../ui/button.tsx'
import { Check, X } from '../ui/icons.ts'
import { settings } from '../words/settings.en.ts'
import { AddressField, KeyField, NameField, OtherField, ProviderChoice } from './model-fields.tsx'

const words = settings.model

type FieldName = 'name' | 'address' | 'key'
export type FieldErrors = Partial<Record<FieldName, string>>

export function ModelForm({ stored }: { stored: SettingsAnswer }) {
  const [before] = useState(() => partsOf(stored.llm_model, stored.llm_base_url))
  const [parts, setParts] = useState(before)
  const [key, setKey] = useState('')
  const [lacks, setLacks] = useState<FieldErrors>({})
  const change = useModelChange()
  // A key goes only to the provider and the address that it was stored for.
  const isSamePlace = parts.provider === before.provider && parts.address.trim() === before.address
  const keeps = stored.llm_api_key_set && isSamePlace
  const wanted: ModelSettings = {
    model: isSamePlace && parts.name === before.name && stored.llm_model !== null ? stored.llm_model : modelOf(parts),
    baseUrl: parts.address.trim() || null,
    key: key.trim() || (keeps ? KEPT : null),
  }
  const edit = (to: Partial<ModelParts>): void => {
    setParts({ ...parts, ...to })
    setLacks({})
    change.forget()
  }
  const isComplete = (): boolean => {
    const found = lackOf(parts, wanted)
    setLacks(found)
    return Object.keys(found).length === 0 && !change.isBusy
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (isComplete()) void change.save(wanted)
  }
  const errors: FieldErrors = { ...change.errors, ...lacks }
  const move = (provider: string): void => edit(movedTo(provider, before, parts))
  const isOther = mainOf(parts.provider) === 'other'
  const takesKey = parts.provider !== 'ollama' || parts.address !== ''
  const address = <AddressField parts={parts} error={errors.address} onChange={(to) => edit({ address: to })} />
  return (
    <form className="model-form" onSubmit={submit} noValidate>
      <ProviderChoice provider={parts.provider} onChoose={move} />
      <div className="model-pair">
        {isOther && <OtherField provider={parts.provider} onChoose={move} />}
        {isOther && address}
        <NameField parts={parts} error={errors.name} onChange={(name) => edit({ name })} />
        {!isOther && address}
        {takesKey && (
          <KeyField
            provider={parts.provider}
            isStored={keeps}
            value={key}
            error={errors.key}
            onChange={(text) => {
              setKey(text)
              edit({})
            }}
          />
        )}
      </div>
      <Result change={change} />
      <div className="model-foot">
        <Button disabled={change.isBusy} onClick={() => isComplete() && void change.check(wanted)}>
          {change.doing === 'check' ? words.checking : words.check}
        </Button>
        <Button look={change.hasFailed ? 'plain' : 'primary'} type="submit" disabled={change.isBusy}>
          {change.doing === 'save' ? words.saving : change.hasFailed ? words.saveAnyway : words.save}
        </Button>
      </div>
    </form>
  )
}

/** The fields after the choice of another provider; the stored ones when the person comes back to it. */
const movedTo = (provider: string, before: ModelParts, { address }: ModelParts): ModelParts =>
  provider === before.provider ? before : { provider, name: '', address: provider === COMPATIBLE ? address : '' }

function lackOf({ provider, name, address }: ModelParts, { key }: ModelSettings): FieldErrors {
  const isUrl = /^https?:\/\/./i.test(address.trim())
  return {
    ...(name.trim() === '' && { name: words.needs.name }),
    ...(address.trim() === '' && needsAddress(provider) && { address: words.needs.address }),
    ...(address.trim() !== '' && !isUrl && { address: words.needs.url }),
    ...(key === null && needsKey(provider) && { key: words.needs.key }),
  }
}

/** What the last try showed. The region exists before, so that screen readers announce its content. */
function Result({ change: { trial, problem } }: { change: ReturnType<typeof useModelChange> }) {
  const works = trial?.result === 'works'
  const region = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (trial !== null || problem !== '') region.current?.scrollIntoView({ block: 'nearest' })
  }, [trial, problem])
  return (
    <div ref={region} className="model-answer" role="status">
      {trial !== null && (
        <div className={works ? 'model-result works' : 'model-result'}>
          {works ? <Check size={16} aria-hidden /> : <X size={16} aria-hidden />}
          <div>
            <p className="model-verdict">{words.results[trial.result]}</p>
            {trial.detail !== '' && <p className="model-detail">{trial.detail}</p>}
          </div>
        </div>
      )}
      {problem !== '' && <p className="model-result model-problem">{problem}</p>}
    </div>
  )
}
