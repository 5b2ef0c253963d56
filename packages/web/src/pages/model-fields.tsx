/** The fields of a model. */
import { useId } from 'react'
import { useModelNames, useModelProviders } from '../api/model-names.ts'
import {
  COMPATIBLE,
  MAIN_PROVIDERS,
  mainOf,
  type ModelParts,
  needsAddress,
  needsKey,
  otherProviders,
  takesAddress,
} from '../lib/model-name.ts'
import { Choices } from '../ui/choices.tsx'
import { Field } from '../ui/field.tsx'
import { settings } from '../words/settings.en.ts'

const words = settings.model
const PLAIN = { spellCheck: false, autoCapitalize: 'none', autoComplete: 'off' } as const

type TextProps = {
  readonly parts: ModelParts
  readonly error: string | undefined
  readonly onChange: (text: string) => void
}

type ProviderProps = { readonly provider: string; readonly onChoose: (provider: string) => void }

export function ProviderChoice({ provider, onChoose }: ProviderProps) {
  return (
    <Choices
      label={words.provider}
      choices={MAIN_PROVIDERS.map((id) => ({ id, ...words.providers[id] }))}
      chosen={mainOf(provider)}
      onChoose={(id) => onChoose(id === 'other' ? COMPATIBLE : id)}
    />
  )
}

/** The provider behind the choice `other`. A stored one that the server does not list is kept. */
export function OtherField({ provider, onChoose }: ProviderProps) {
  const listed = otherProviders(useModelProviders().data?.providers ?? [])
  const others = provider === COMPATIBLE || listed.includes(provider) ? listed : [provider, ...listed]
  return (
    <div className={takesAddress(provider) ? undefined : 'model-wide'}>
      <Field label={words.other}>
        {(control) => (
          <select {...control} value={provider} onChange={(event) => onChoose(event.target.value)}>
            <option value={COMPATIBLE}>{words.compatible}</option>
            {others.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        )}
      </Field>
    </div>
  )
}

export function NameField({ parts: { provider, name }, error, onChange }: TextProps) {
  const list = useId()
  const names = useModelNames(provider)
  return (
    <div>
      <Field label={words.name} hint={words.nameHint} error={error}>
        {(control) => (
          <input
            {...control}
            {...PLAIN}
            list={list}
            value={name}
            placeholder={words.examples[provider] ?? ''}
            onChange={(event) => onChange(event.target.value)}
          />
        )}
      </Field>
      <datalist id={list}>
        {names.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </div>
  )
}

export function AddressField({ parts: { provider, address }, error, onChange }: TextProps) {
  if (!takesAddress(provider) && address === '') return null
  const isNeeded = needsAddress(provider)
  const { needed, ollama, optional } = words.addressHints
  return (
    <Field
      label={isNeeded ? words.address : words.addressOptional}
      hint={isNeeded ? needed : provider === 'ollama' ? ollama : optional}
      error={error}
    >
      {(control) => (
        <input
          {...control}
          {...PLAIN}
          type="url"
          value={address}
          placeholder={isNeeded ? words.addressExample : ''}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  )
}

type KeyProps = {
  readonly provider: string
  /** A key is stored for this provider and address. */
  readonly isStored: boolean
  readonly value: string
  readonly error: string | undefined
  readonly onChange: (text: string) => void
}

export function KeyField({ provider, isStored, value, error, onChange }: KeyProps) {
  return (
    <Field
      label={needsKey(provider) ? words.key : words.keyOptional}
      hint={isStored ? words.keyStored : words.keyHint}
      error={error}
    >
      {(control) => (
        <input
          {...control}
          {...PLAIN}
          type="password"
          value={value}
          placeholder={isStored ? '••••••••' : ''}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  )
}
