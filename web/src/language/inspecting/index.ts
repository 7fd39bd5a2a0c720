// The words of the panels that look into a reply. They are loaded with these panels, in all languages.
import { computed } from '@preact/signals';
import { language } from '..';
import { de } from './de';
import { en, type InspectingWords } from './en';

const ALL: Record<string, InspectingWords> = { de };

export const inspecting = computed<InspectingWords>(() => ALL[language.value] ?? en);
